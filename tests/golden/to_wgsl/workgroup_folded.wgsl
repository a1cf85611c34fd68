struct Uniforms {
    launch_x: u32,
}

@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<uniform> uniforms: Uniforms;

var<workgroup> tile: array<array<f32, 17>, 16>;
var<workgroup> sums: array<atomic<i32>, 4>;

// kernel
@compute @workgroup_size(16)
fn kernel(
    @builtin(local_invocation_id) local_id: vec3u,
    @builtin(workgroup_id) workgroup_id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) local_invocation_index: u32,
) {
    let folded_workgroup = workgroup_id.x + workgroup_id.y * num_workgroups.x;
    let folded_x = folded_workgroup * 16u + local_id.x;
    if (folded_workgroup * 16u >= uniforms.launch_x) {
        return;
    }
    if (local_invocation_index < 4u) {
        atomicStore(&sums[local_invocation_index], 0);
    }
    workgroupBarrier();
    let local_x = i32(local_id.x);
    let i = i32(folded_x);
    tile[local_x][0] = a[i];
    workgroupBarrier();
    atomicAdd(&sums[local_x & 3], 2);
    let before = atomicMax(&sums[local_x & 3], 1);
    workgroupBarrier();
    atomicStore(&sums[local_x & 3], before);
    a[i] = tile[local_x][0] * f32(atomicLoad(&sums[local_x & 3]));
}
