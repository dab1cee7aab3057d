// Builds the bundle: one file with everything except VS Code's own module. `--production` makes it small, `--watch` keeps it
// current.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import * as esbuild from 'esbuild';

/** The maximum size of the bundle. The README says how small the bundle is. */
const MAX_BYTES = 250_000;

// A VSIX can contain only files of this directory, so copy the installer script.
mkdirSync('dist', { recursive: true });
copyFileSync('../bootstrap.py', 'dist/bootstrap.py');

/**
 * Uses VS Code's module as it is. For each file with `import * as vscode`, esbuild would copy its hundreds of properties
 * into a new object, which took almost half of the time that loading the extension took.
 */
const shareVscode = {
  name: 'share-vscode',
  setup: (build) => {
    let shared = 0;
    // The paths of Windows have backslashes.
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

/** Return the licences of the packages in the bundle. They must be included in every copy. */
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
