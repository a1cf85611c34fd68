struct Uniforms {
    launch_x: u32,
    launch_y: u32,
}

@group(0) @binding(0) var<storage, read_write> out: array<i32>;
@group(0) @binding(1) var<uniform> uniforms: Uniforms;

fn row_of(width: i32, global_y: i32) -> i32 {
    return width + global_y;
}

// kernel
@compute @workgroup_size(4, 2)
fn kernel(
    @builtin(global_invocation_id) global_id: vec3u,
    @builtin(local_invocation_id) local_id: vec3u,
    @builtin(workgroup_id) workgroup_id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) local_invocation_index: u32,
) {
    if (global_id.x >= uniforms.launch_x || global_id.y >= uniforms.launch_y) {
        return;
    }
    let global_x = i32(global_id.x);
    let global_y = i32(global_id.y);
    out[global_x] = row_of(3, global_y) + global_x + i32(local_id.x) + i32(workgroup_id.x) + i32(num_workgroups.x) + i32(local_invocation_index);
}
