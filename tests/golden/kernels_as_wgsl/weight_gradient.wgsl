struct Uniforms {
    x_shape_0: i32,
    x_shape_1: i32,
    grad_output_shape_1: i32,
    grad_weight_shape_1: i32,
    launch_x: u32,
    launch_y: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> grad_output: array<f32>;
@group(0) @binding(2) var<storage, read_write> grad_weight: array<f32>;
@group(0) @binding(3) var<uniform> uniforms: Uniforms;

// weight_gradient, test_kernels_as_wgsl.py:24
@compute @workgroup_size(16, 16)
fn weight_gradient(@builtin(global_invocation_id) global_id: vec3u) {
    if (global_id.x >= uniforms.launch_x || global_id.y >= uniforms.launch_y) {
        return;
    }
    let i = i32(global_id.x);
    let o = i32(global_id.y);
    var total = 0.0;
    for (var b = 0; b < uniforms.x_shape_0; b++) {
        total += x[b * uniforms.x_shape_1 + i] * grad_output[b * uniforms.grad_output_shape_1 + o];
    }
    grad_weight[o * uniforms.grad_weight_shape_1 + i] = total;
}
