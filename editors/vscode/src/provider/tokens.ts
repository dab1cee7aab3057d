/**
 * The factors of the token estimate. VS Code asks for an estimate of each fragment of a prompt, hundreds of times per turn,
 * so a request to the daemon would be too slow. The daemon estimates text by the same rule, a quarter of the UTF-8 bytes. An
 * image counts as a constant here, but the daemon reads its dimensions. A PDF counts as one page, as in the daemon.
 */
const BYTES_PER_TOKEN = 4;
const PER_MESSAGE = 4;
const PER_IMAGE = 1000;
const PER_PDF = 2000;

/** Estimate the tokens of a text, or of a message in any form: one of VS Code's classes, or a plain object. */
export function estimate(value: unknown): number {
  if (typeof value === 'string') {
    return estimateBytes(Buffer.byteLength(value));
  }
  return PER_MESSAGE + estimateInside(value);
}

function estimateInside(value: unknown): number {
  if (typeof value === 'string') {
    return estimateBytes(Buffer.byteLength(value));
  }
  if (Array.isArray(value)) {
    return value.reduce<number>((sum, each) => sum + estimateInside(each), 0);
  }
  if (typeof value !== 'object' || value === null) {
    return 0;
  }
  const { mimeType, data } = value as { mimeType?: unknown; data?: unknown };
  if (typeof mimeType === 'string' && data) {
    return estimateData(mimeType, data);
  }
  let sum = 0;
  for (const [key, each] of Object.entries(value)) {
    if (key === 'input' || key === 'parameters') {
      sum += estimateBytes(Buffer.byteLength(JSON.stringify(each ?? {})));
    } else if (key !== 'type' && key !== 'role' && key !== 'metadata') {
      sum += estimateInside(each);
    }
  }
  return sum;
}

function estimateData(mimeType: string, data: unknown): number {
  if (mimeType.startsWith('image/')) {
    return PER_IMAGE;
  }
  if (mimeType === 'application/pdf') {
    return PER_PDF;
  }
  const { byteLength } = data as { byteLength?: unknown };
  const isText = mimeType.startsWith('text/') || mimeType.includes('json');
  return isText && typeof byteLength === 'number' ? estimateBytes(byteLength) : 0;
}

function estimateBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}
