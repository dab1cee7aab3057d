// Chats with an agent through the TypeScript SDK's client: `node client.mjs DIRECTORY COMMAND...`.
// It allows each tool call, and prints one JSON object with what it received.
import { readFile, writeFile } from "node:fs/promises";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";

const [directory, command, ...args] = process.argv.slice(2);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], cwd: directory });
const updates = [];
const questions = [];
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));

await client({ name: "tests" })
  .onNotification(methods.client.session.update, ({ params }) => updates.push(params.update))
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    questions.push(params);
    const { optionId } = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId } };
  })
  .onRequest(methods.client.fs.readTextFile, async ({ params }) => ({ content: await readFile(params.path, "utf8") }))
  .onRequest(methods.client.fs.writeTextFile, async ({ params }) => {
    await writeFile(params.path, params.content);
    return {};
  })
  .connectWith(stream, async (connection) => {
    const handshake = await connection.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
    });
    const session = await connection.request(methods.agent.session.new, { cwd: directory, mcpServers: [] });
    const answer = await connection.request(methods.agent.session.prompt, {
      sessionId: session.sessionId,
      prompt: [{ type: "text", text: "hi" }],
    });
    console.log(JSON.stringify({ handshake, session, answer, updates, questions }));
  });
agent.stdin.end();
