struct Uniforms {
    n: i32,
    out_shape_0: i32,
    launch_x: u32,
}

@group(0) @binding(0) var<storage, read_write> out: array<i32>;
@group(0) @binding(1) var<uniform> uniforms: Uniforms;

fn range_length_i32(start: i32, stop: i32, step: i32) -> u32 {
    if (step > 0 && start < stop) {
        return (u32(stop) - u32(start) - 1u) / u32(step) + 1u;
    }
    if (step < 0 && start > stop) {
        return (u32(start) - u32(stop) - 1u) / (0u - u32(step)) + 1u;
    }
    return 0u;
}

// kernel
@compute @workgroup_size(64)
fn kernel(
    @builtin(local_invocation_id) local_id: vec3u,
    @builtin(workgroup_id) workgroup_id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
) {
    let folded_workgroup = workgroup_id.x + workgroup_id.y * num_workgroups.x;
    let folded_x = folded_workgroup * 64u + local_id.x;
    if (folded_x >= uniforms.launch_x) {
        return;
    }
    let i = i32(folded_x);
    var total = 0;
    for (var up = 0; up < uniforms.n; up++) {
        total += up;
    }
    for (var down = uniforms.n - 1; down > -1; down--) {
        total += down;
    }
    for (var by_three = 0; by_three < uniforms.out_shape_0; by_three += 3) {
        total += by_three;
    }
    let far_trips = range_length_i32(0, uniforms.n, 4);
    for (var far_trip = 0u; far_trip < far_trips; far_trip++) {
        let far = i32(far_trip) * 4;
        total += far;
    }
    let back_stop = total;
    let back_trips = range_length_i32(uniforms.n, back_stop, -4);
    for (var back_trip = 0u; back_trip < back_trips; back_trip++) {
        let back = uniforms.n + i32(back_trip) * (-4);
        total += back;
    }
    let any_step_stop = total;
    let any_step_trips = range_length_i32(i, any_step_stop, uniforms.n);
    for (var any_step_trip = 0u; any_step_trip < any_step_trips; any_step_trip++) {
        let any_step = i + i32(any_step_trip) * uniforms.n;
        total += any_step;
    }
    let changing_stop = total;
    for (var changing = 0; changing < changing_stop; changing++) {
        total += changing;
    }
    for (var k = 0; k < 9; k++) {
        if (k == 3 || k == 5) {
            break;
        } else if (k == 1) {
            continue;
        } else {
            total += k;
        }
    }
    loop {
        if (total >= 50) {
            break;
        }
        if (total == 7) {
            continue;
        }
        continuing {
            total += 2;
            out[i] = total;
            break if total > 40;
        }
    }
    for (; total < 60; total += 1) {
        out[i] = total;
    }
    out[i] = total;
}
