struct Uniforms {
    launch_x: u32,
}

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<uniform> uniforms: Uniforms;

// kernel
@compute @workgroup_size(64)
fn kernel(@builtin(global_invocation_id) global_id: vec3u) {
    if (global_id.x >= uniforms.launch_x) {
        return;
    }
    let i = i32(global_id.x);
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
