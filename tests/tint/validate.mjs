// Reads WGSL texts as JSON strings, one a line; answers each with Tint's errors ("" if there are none).
import { createInterface } from "node:readline";
import { create, globals } from "webgpu";

Object.assign(globalThis, globals);
// Kept in a variable: collecting it would end the process.
const gpu = create(["backend=null"]);
const adapter = await gpu.requestAdapter();
const wanted = ["shader-f16", "subgroups"].filter((feature) => adapter.features.has(feature));
const device = await adapter.requestDevice({ requiredFeatures: wanted });

async function failure(attempt) {
  device.pushErrorScope("validation");
  const result = attempt();
  const error = await device.popErrorScope();
  return [result, error ? error.message : ""];
}

async function errors(code) {
  const [module, message] = await failure(() => device.createShaderModule({ code }));
  if (message) return message;
  const [, refusal] = await failure(() =>
    device.createComputePipeline({ layout: "auto", compute: { module } }),
  );
  return refusal;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await errors(JSON.parse(line))) + "\n");
}
process.exit(0);
