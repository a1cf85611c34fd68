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

// weight_gradient
@compute @workgroup_size(16, 16)
fn weight_gradient(
    @builtin(local_invocation_id) local_id: vec3u,
    @builtin(workgroup_id) workgroup_id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
) {
    let folded_workgroup = workgroup_id.x + workgroup_id.y * num_workgroups.x;
    let folded_x = folded_workgroup * 16u + local_id.x;
    if (folded_x >= uniforms.launch_x || local_id.y >= uniforms.launch_y) {
        return;
    }
    let i = i32(folded_x);
    let o = i32(local_id.y);
    var total = 0.0;
    for (var b = 0; b < uniforms.x_shape_0; b++) {
        total += x[b * uniforms.x_shape_1 + i] * grad_output[b * uniforms.grad_output_shape_1 + o];
    }
    grad_weight[o * uniforms.grad_weight_shape_1 + i] = total;
}
