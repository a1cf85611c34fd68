struct Uniforms {
    b_shape_0: i32,
    index_shape_0: i32,
    a_shape_0: i32,
    image_shape_0: i32,
    image_shape_1: i32,
    flags_shape_0: i32,
    launch_x: u32,
}

@group(0) @binding(0) var<storage, read> b: array<f32>;
@group(0) @binding(1) var<storage, read> index: array<i32>;
@group(0) @binding(2) var<storage, read_write> a: array<f32>;
@group(0) @binding(3) var<storage, read_write> image: array<f32>;
@group(0) @binding(4) var<storage, read_write> flags: array<u32>;
@group(0) @binding(5) var<uniform> uniforms: Uniforms;

fn load_image(i: u32, j: u32) -> f32 {
    if (i < u32(uniforms.image_shape_0) && j < u32(uniforms.image_shape_1)) {
        return image[i * u32(uniforms.image_shape_1) + j];
    }
    return 0.0;
}

fn load_index(i: u32) -> i32 {
    if (i < u32(uniforms.index_shape_0)) {
        return index[i];
    }
    return 0;
}

fn load_b(i: u32) -> f32 {
    if (i < u32(uniforms.b_shape_0)) {
        return b[i];
    }
    return 0.0;
}

fn load_flags(i: u32) -> u32 {
    if (i < u32(uniforms.flags_shape_0)) {
        return flags[i];
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
    let index_2 = i + 1;
    if (u32(i) < u32(uniforms.image_shape_0) && u32(index_2) < u32(uniforms.image_shape_1)) {
        image[i * uniforms.image_shape_1 + index_2] = load_image(u32(i - 1), u32(i));
    }
    let index_3 = load_index(u32(i));
    if (u32(index_3) < u32(uniforms.a_shape_0)) {
        a[index_3] += load_b(3u);
    }
    if (u32(i) < u32(uniforms.flags_shape_0)) {
        flags[i] = u32(load_flags(u32(i + 1)) != 0u);
    }
}
