struct Uniforms {
    launch_x: u32,
}

@group(0) @binding(0) var<storage, read> numbers: array<i32>;
@group(0) @binding(1) var<storage, read_write> steps: array<i32>;
@group(0) @binding(2) var<uniform> uniforms: Uniforms;

// collatz, test_kernels_as_wgsl.py:50
@compute @workgroup_size(64)
fn collatz(@builtin(global_invocation_id) global_id: vec3u) {
    if (global_id.x >= uniforms.launch_x) {
        return;
    }
    let i = i32(global_id.x);
    var n = numbers[i];
    var count = 0;
    while (n != 1) {
        if ((n & 1) == 0) {
            n = n >> 1u;
        } else if (n < 0) {
            count = -1;
            break;
        } else {
            n = 3 * n + 1;
        }
        count += 1;
    }
    steps[i] = count;
}
