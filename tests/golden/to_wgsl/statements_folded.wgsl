struct Uniforms {
    launch_x: u32,
}

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<uniform> uniforms: Uniforms;

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
    var x = a[i];
    if (x < 0.0) {
        x = -x;
    } else if (x > 9.0) {
        return;
    } else {
        x *= 2.0;
    }
    if (i != 1) {
        x += 1.0;
    }
    while (x < 100.0) {
        x *= 3.0;
        if (x > 50.0) {
            break;
        }
    }
    switch (i) {
        case 0, 1: {
            x = 0.5;
        }
        case i32(-2147483648): {
            x = 1.5;
        }
        default: {
        }
    }
    out[i] = x;
}
