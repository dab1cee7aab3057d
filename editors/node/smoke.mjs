// The smallest Node client of jumpseat, and its smoke test: `npm ci && node smoke.mjs`.
// JUMPSEAT_COMMAND is the daemon's command as a JSON array (default: jumpseat attach). JUMPSEAT_BASE_URL is the base
// URL of an OpenAI-compatible API.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import rpc from "vscode-jsonrpc/node.js";

const [program, ...args] = JSON.parse(process.env.JUMPSEAT_COMMAND ?? '["jumpseat", "attach"]');
const daemon = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const exited = once(daemon, "exit");
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(daemon.stdout),
  new rpc.StreamMessageWriter(daemon.stdin),
);

const textListeners = new Map(); // by turn id
connection.onNotification("chat/delta", ({ turnId, delta }) => {
  if (delta.type !== "text_delta") return;
  process.stdout.write(delta.text);
  textListeners.get(turnId)?.();
});
connection.listen();
setTimeout(() => assert.fail("timed out"), 30_000).unref();

const chat = (turnId, messages, more = {}, ...token) =>
  connection.sendRequest("chat/start", { turnId, model: "fake:fake-model", messages, ...more }, ...token);

const fake = { kind: "openai", base_url: process.env.JUMPSEAT_BASE_URL, api_key: "fake-key" };
await connection.sendRequest("initialize", {
  processId: process.pid,
  rootUri: null,
  capabilities: {},
  initializationOptions: { config: { providers: { fake } } },
});
await connection.sendNotification("initialized", {});

const question = { role: "user", content: "Say hello." };
const hello = await chat("hello", [question]);

// Cancelling the token sends $/cancelRequest. The error's data contains the answer received until then.
const cancellation = new rpc.CancellationTokenSource();
textListeners.set("cancelled", () => cancellation.cancel());
const cancelled = await chat("cancelled", [question], {}, cancellation.token).catch((error) => error);
assert.equal(cancelled.code, -32800);

const parameters = { type: "object", properties: { city: { type: "string" } } };
const tools = [{ name: "weather", description: "The weather in a city.", parameters }];
const call = await chat("call", [question], { tools });
const [toolUse] = call.toolCalls;
const result = { type: "tool_result", toolUseId: toolUse.id, content: "sunny" };
const conversation = [question, { role: "assistant", content: call.content }, { role: "user", content: [result] }];
const answer = await chat("answer", conversation, { tools });

await connection.sendRequest("shutdown");
await connection.sendNotification("exit");
assert.deepEqual(await exited, [0, null]);
const { text: partial } = cancelled.data.partial;
console.log("\n" + JSON.stringify({ hello: hello.text, partial, city: toolUse.arguments.city, answer: answer.text }));
