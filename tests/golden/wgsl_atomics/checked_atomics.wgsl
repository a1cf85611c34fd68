struct Uniforms {
    out_shape_0: i32,
    out_shape_1: i32,
    launch_x: u32,
}

@group(0) @binding(0) var<storage, read_write> out: array<atomic<i32>>;
@group(0) @binding(1) var<uniform> uniforms: Uniforms;

fn atomic_compare_exchange_out(i: u32, j: u32, expected: i32, value: i32) -> i32 {
    if (i >= u32(uniforms.out_shape_0) || j >= u32(uniforms.out_shape_1)) {
        return 0;
    }
    var result = atomicCompareExchangeWeak(&out[i * u32(uniforms.out_shape_1) + j], expected, value);
    while (!result.exchanged && result.old_value == expected) {
        result = atomicCompareExchangeWeak(&out[i * u32(uniforms.out_shape_1) + j], expected, value);
    }
    return result.old_value;
}

// checked_atomics
@compute @workgroup_size(64)
fn checked_atomics(@builtin(global_invocation_id) global_id: vec3u) {
    if (global_id.x >= uniforms.launch_x) {
        return;
    }
    let i = i32(global_id.x);
    let was = atomic_compare_exchange_out(u32(i), 0u, 0, i);
    if (u32(i) < u32(uniforms.out_shape_0) && 1u < u32(uniforms.out_shape_1)) {
        atomicStore(&out[i * uniforms.out_shape_1 + 1], was);
    }
}
