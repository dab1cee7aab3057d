// Makes a Node.js server listen only on loopback instead of on all interfaces, and prints the server's port.
// Usage: node --import loopback.mjs server.js

import net from "node:net";

const { listen } = net.Server.prototype;

net.Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => console.error(`port ${this.address().port}`));
  return listen.call(this, port, "127.0.0.1", ...rest);
};
