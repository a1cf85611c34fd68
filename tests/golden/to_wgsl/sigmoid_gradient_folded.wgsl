struct Uniforms {
    steepness: f32,
    launch_x: u32,
}

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(3) var<uniform> uniforms: Uniforms;

// sigmoid_gradient, activations.py:12
@compute @workgroup_size(256)
fn sigmoid_gradient(
    @builtin(local_invocation_id) local_id: vec3u,
    @builtin(workgroup_id) workgroup_id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
) {
    let folded_workgroup = workgroup_id.x + workgroup_id.y * num_workgroups.x;
    let folded_x = folded_workgroup * 256u + local_id.x;
    if (folded_x >= uniforms.launch_x) {
        return;
    }
    let i = i32(folded_x);
    let y = b[i];
    out[i] = a[i] * (y * (1.0 - y) * uniforms.steepness);
}
