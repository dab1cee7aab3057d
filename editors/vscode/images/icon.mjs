// Draws icon.png: a chat bubble with three dots. Run `node images/icon.mjs` after changing this file.
import { writeFileSync } from 'node:fs';
import { crc32, deflateSync } from 'node:zlib';

const SIZE = 256;
/** Samples per pixel in each direction, for smooth edges. */
const SAMPLES = 4;

const BACKGROUND = [38, 70, 140];
const BUBBLE = [255, 255, 255];
const DOTS = [
  [236, 110, 70],
  [245, 180, 60],
  [60, 160, 130],
];

/** Whether a point is in a rectangle with round corners. */
function inside(x, y, left, top, right, bottom, radius) {
  const dx = Math.max(left + radius - x, x - (right - radius), 0);
  const dy = Math.max(top + radius - y, y - (bottom - radius), 0);
  return dx * dx + dy * dy <= radius * radius;
}

/** The colour at a point, or undefined if the point is outside of the icon. */
function colour(x, y) {
  if (!inside(x, y, 0, 0, 256, 256, 52)) {
    return undefined;
  }
  const dot = [82, 128, 174].findIndex((centre) => Math.hypot(x - centre, y - 112) <= 15);
  if (dot >= 0) {
    return DOTS[dot];
  }
  const tail = y >= 160 && y <= 212 && x >= 76 && x <= 76 + (212 - y);
  return tail || inside(x, y, 40, 52, 216, 172, 36) ? BUBBLE : BACKGROUND;
}

function pixel(column, row) {
  const sum = [0, 0, 0];
  let drawn = 0;
  for (let sample = 0; sample < SAMPLES * SAMPLES; sample++) {
    const x = column + ((sample % SAMPLES) + 0.5) / SAMPLES;
    const y = row + (Math.floor(sample / SAMPLES) + 0.5) / SAMPLES;
    const found = colour((x * 256) / SIZE, (y * 256) / SIZE);
    if (found) {
      found.forEach((value, index) => (sum[index] += value));
      drawn++;
    }
  }
  const mean = sum.map((value) => Math.round(value / Math.max(drawn, 1)));
  return [...mean, Math.round((255 * drawn) / SAMPLES ** 2)];
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}

const header = Buffer.alloc(13);
header.writeUInt32BE(SIZE, 0);
header.writeUInt32BE(SIZE, 4);
// 8 bits per channel; colour type 6: red, green, blue and alpha.
header.set([8, 6, 0, 0, 0], 8);
const rows = [];
for (let row = 0; row < SIZE; row++) {
  // The row's filter type: none.
  rows.push(0);
  for (let column = 0; column < SIZE; column++) {
    rows.push(...pixel(column, row));
  }
}
const parts = [
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  chunk('IHDR', header),
  chunk('IDAT', deflateSync(Buffer.from(rows), { level: 9 })),
  chunk('IEND', Buffer.alloc(0)),
];
writeFileSync(new URL('icon.png', import.meta.url), Buffer.concat(parts));
