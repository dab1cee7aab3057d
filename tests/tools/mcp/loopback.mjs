// Makes a server of Node that listens on all interfaces listen on loopback only, and prints the port that it received.
// Usage: node --import loopback.mjs server.js

import net from "node:net";

const { listen } = net.Server.prototype;

net.Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => console.error(`port ${this.address().port}`));
  return listen.call(this, port, "127.0.0.1", ...rest);
};
