struct Uniforms {
    steepness: f32,
    launch_x: u32,
}

@group(0) @binding(0) var<storage, read> grad_output: array<f32>;
@group(0) @binding(1) var<storage, read> output: array<f32>;
@group(0) @binding(2) var<storage, read_write> grad_input: array<f32>;
@group(0) @binding(3) var<uniform> uniforms: Uniforms;

// sigmoid_gradient, test_kernels_as_wgsl.py:15
@compute @workgroup_size(256)
fn sigmoid_gradient(@builtin(global_invocation_id) global_id: vec3u) {
    if (global_id.x >= uniforms.launch_x) {
        return;
    }
    let i = i32(global_id.x);
    let y = output[i];
    grad_input[i] = grad_output[i] * (y * (1.0 - y) * uniforms.steepness);
}
