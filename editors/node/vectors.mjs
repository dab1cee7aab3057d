// Checks the transcript test vectors with Node's own JSON encoder and decoder: `npm ci && node vectors.mjs`.
// JUMPSEAT_VECTORS is the path of the file with the vectors. JUMPSEAT_COMMAND is the same as in smoke.mjs.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import rpc from "vscode-jsonrpc/node.js";

const [program, ...args] = JSON.parse(process.env.JUMPSEAT_COMMAND ?? '["jumpseat", "attach"]');
const daemon = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(daemon.stdout),
  new rpc.StreamMessageWriter(daemon.stdin),
);
connection.listen();
setTimeout(() => assert.fail("timed out"), 30_000).unref();
await connection.sendRequest("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
await connection.sendNotification("initialized", {});

const vectors = JSON.parse(readFileSync(process.env.JUMPSEAT_VECTORS, "utf8"));
const failed = [];
for (const vector of vectors) {
  const read = await connection.sendRequest("transcript/parse", { text: vector.text });
  assert.deepEqual(read.messages, vector.messages, vector.name);
  // Have the daemon render the vector's conversation and the one it parsed, both as encoded by Node.
  for (const [from, { messages, model, system, settings }] of Object.entries({ vector, wire: read })) {
    const { text } = await connection.sendRequest("transcript/render", { messages, model, system, settings });
    if (text !== (vector.rendered ?? vector.text)) failed.push([vector.name, from, text]);
  }
}

await connection.sendRequest("shutdown");
await connection.sendNotification("exit");
console.log(JSON.stringify({ count: vectors.length, ...(failed.length ? { failed } : {}) }));
