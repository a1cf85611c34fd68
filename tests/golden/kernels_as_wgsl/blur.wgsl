struct Uniforms {
    radius: i32,
    image_shape_1: i32,
    image_shape_2: i32,
    output_shape_1: i32,
    output_shape_2: i32,
    launch_x: u32,
}

@group(0) @binding(0) var<storage, read> image: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
@group(0) @binding(2) var<uniform> uniforms: Uniforms;

fn trunc_rem_i32(a: i32, b: i32) -> i32 {
    return select(a - a / b * b, 0, b == 0);
}

fn floor_mod_i32(a: i32, b: i32) -> i32 {
    let remainder = trunc_rem_i32(a, b);
    return select(remainder, remainder + b, remainder != 0 && (remainder < 0) != (b < 0));
}

fn wrapped(index: i32, length: i32) -> i32 {
    return floor_mod_i32(index, length);
}

// blur, test_kernels_as_wgsl.py:38
@compute @workgroup_size(64)
fn blur(@builtin(global_invocation_id) global_id: vec3u) {
    if (global_id.x >= uniforms.launch_x) {
        return;
    }
    let k = i32(global_id.x);
    let column = k % uniforms.image_shape_1;
    let row = k / uniforms.image_shape_1;
    for (var channel = 0; channel < uniforms.image_shape_2; channel++) {
        var total = 0.0;
        for (var offset = -uniforms.radius; offset < uniforms.radius + 1; offset++) {
            total += image[(row * uniforms.image_shape_1 + wrapped(column + offset, uniforms.image_shape_1)) * uniforms.image_shape_2 + channel];
        }
        output[(row * uniforms.output_shape_1 + column) * uniforms.output_shape_2 + channel] = total / f32(2 * uniforms.radius + 1);
    }
}
