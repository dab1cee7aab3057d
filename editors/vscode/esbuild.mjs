// Builds the bundle: one file with all code except VS Code's own module. `--production` minifies the bundle, and
// `--watch` builds it again after each change.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import * as esbuild from 'esbuild';

/** The maximum size of the bundle. The README states this limit and the current size. */
const MAX_BYTES = 250_000;

// A VSIX can contain only files of this directory, so copy the installer script.
mkdirSync('dist', { recursive: true });
copyFileSync('../bootstrap.py', 'dist/bootstrap.py');

/**
 * Uses VS Code's module without copying it. For each file with `import * as vscode`, esbuild would otherwise copy the
 * module's hundreds of properties into a new object. These copies took almost half of the extension's loading time.
 */
const shareVscode = {
  name: 'share-vscode',
  setup: (build) => {
    let shared = 0;
    // Paths on Windows have backslashes.
    build.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      const contents = source.replace(
        "import * as vscode from 'vscode';",
        "import vscode = require('vscode');",
      );
      shared += contents === source ? 0 : 1;
      return { contents, loader: 'ts' };
    });
    build.onEnd(() => ({ errors: shared === 0 ? [{ text: 'No file shares the module of VS Code.' }] : [] }));
  },
};

const production = process.argv.includes('--production');
const options = {
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.js',
  bundle: true,
  external: ['vscode'],
  format: 'cjs',
  platform: 'node',
  target: 'node22',
  minify: production,
  sourcemap: !production,
  legalComments: 'none',
  plugins: [shareVscode],
};

if (process.argv.includes('--watch')) {
  await (await esbuild.context(options)).watch();
} else {
  const { metafile } = await esbuild.build({ ...options, metafile: true });
  writeFileSync('dist/NOTICES.txt', noticesOf(Object.keys(metafile.inputs)));
  const size = metafile.outputs[options.outfile].bytes;
  if (production && size > MAX_BYTES) {
    throw new Error(`The bundle has grown to ${size} bytes.`);
  }
}

/** Return the licences of the packages in the bundle. Every copy of the bundle must include these licences. */
function noticesOf(files) {
  const found = files.map((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
  const packages = [...new Set(found.filter(Boolean))].sort();
  const texts = packages.map((name) => {
    const directory = `node_modules/${name}`;
    const licence = readdirSync(directory).find((each) => /^licen[cs]e/i.test(each));
    if (!licence) {
      throw new Error(`${name} has no file with its licence`);
    }
    return `${name}\n\n${readFileSync(`${directory}/${licence}`, 'utf8').trim()}\n`;
  });
  return `This extension contains these packages.\n\n${texts.join('\n---\n\n')}`;
}
