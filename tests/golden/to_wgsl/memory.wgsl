enable f16;

struct Particle {
    position: vec3f,
    alive: u32,
    type_: i32,
}

struct Uniforms {
    on: u32,
    offset: vec3f,
    wide_shape_1: i32,
    wide_shape_2: i32,
    launch_x: u32,
}

@group(0) @binding(0) var<storage, read_write> flags: array<u32>;
@group(0) @binding(1) var<storage, read_write> particles: array<Particle>;
@group(0) @binding(2) var<storage, read_write> halves: array<f16>;
@group(0) @binding(3) var<storage, read_write> vectors: array<vec3f>;
@group(0) @binding(4) var<storage, read_write> wide: array<f32>;
@group(0) @binding(5) var<uniform> uniforms: Uniforms;

// kernel
@compute @workgroup_size(64)
fn kernel(@builtin(global_invocation_id) global_id: vec3u) {
    if (global_id.x >= uniforms.launch_x) {
        return;
    }
    let i = i32(global_id.x);
    if (flags[i] != 0u) {
        flags[i] = u32(i < 3);
    }
    particles[i].alive = u32(!(particles[i].alive != 0u));
    particles[i].position.y = vectors[i].x;
    var p = Particle(vec3f(1.0, 2.0, 3.0), u32(flags[i] != 0u), 4);
    p.type_ = 5;
    particles[i + 1] = p;
    var marks: array<u32, 4>;
    marks[i & 3] = u32(flags[i] != 0u);
    flags[0] = u32(marks[2] != 0u);
    var m: mat2x2f;
    m[1][0] = wide[(i * uniforms.wide_shape_1 + 2) * uniforms.wide_shape_2 + i + 1];
    wide[i * uniforms.wide_shape_1 * uniforms.wide_shape_2] = m[1].x;
    halves[i] += 0.1h;
    vectors[i] *= 2.0;
    if (uniforms.on != 0u) {
        vectors[i] = uniforms.offset;
    }
}
