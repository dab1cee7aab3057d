// Loads the bundle of the extension with a replacement for VS Code's module, and prints two processor times in
// milliseconds: for starting Node, and for loading. Arguments: the bundle, the declarations of VS Code's module.
'use strict';

const own = process.cpuUsage();

const { readFileSync } = require('node:fs');
const Module = require('node:module');
// VS Code's extension host has already loaded these modules, so they do not count.
require('node:child_process');
require('node:crypto');
require('node:fs/promises');
require('node:readline');

const [bundle, declarations] = process.argv.slice(2);

/** Return a value that can be called, constructed and read, which each time gives another such value. */
function anything() {
  return new Proxy(function () {}, {
    get: (target, name) =>
      name === 'prototype' ? target.prototype : name === Symbol.toPrimitive ? () => '' : anything(),
    apply: anything,
    construct: anything,
  });
}

// Bundlers may copy the module's properties, so it has as many as the real one.
const names = readFileSync(declarations, 'utf8').matchAll(/export (?:class|namespace|enum|const|function) (\w+)/g);
const vscode = Object.fromEntries(Array.from(names, ([, name]) => [name, anything()]));
const load = Module._load;
Module._load = (request, ...rest) => (request === 'vscode' ? vscode : load(request, ...rest));

const before = process.cpuUsage();
const { activate } = require(bundle);
const loading = process.cpuUsage(before);
if (typeof activate !== 'function') {
  throw new Error(`${bundle} is not the bundle of the extension`);
}
const milliseconds = ({ user, system }) => (user + system) / 1000;
console.log(JSON.stringify({ node: milliseconds(own), loading: milliseconds(loading) }));
