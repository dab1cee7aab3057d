// Runs JavaScript in the extension host that tests send over a socket, and answers with its result.
// One line of JSON each way: {"code", "arguments"} -> {"result"} or {"error"}.
'use strict';

const net = require('node:net');
const path = require('node:path');
const readline = require('node:readline');
const vscode = require('vscode');
const helpers = require('./requests');

const AsyncFunction = async function () {}.constructor;

/** The values that a test keeps from one call to the next. */
const state = {};

async function run({ code, arguments: values }) {
  const body = new AsyncFunction('vscode', 'lm', 'state', 'values', code);
  return body(vscode, helpers, state, values ?? []);
}

function answer(connection) {
  readline.createInterface({ input: connection }).on('line', async (line) => {
    let reply;
    try {
      reply = { result: (await run(JSON.parse(line))) ?? null };
    } catch (error) {
      reply = { error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
    }
    if (connection.writable) {
      connection.write(`${JSON.stringify(reply)}\n`);
    }
  });
  connection.on('error', () => {});
}

exports.activate = function activate(context) {
  const server = net.createServer(answer);
  // Each window has an extension host of its own.
  server.listen(path.join(process.env.JUMPSEAT_TEST_DRIVERS, `${process.pid}.sock`));
  context.subscriptions.push({ dispose: () => server.close() });
};
