// The bundle: one file, with everything but VS Code's own module. `--production` makes it small, `--watch` keeps it current.
import * as esbuild from 'esbuild';

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
  legalComments: 'linked',
};

if (process.argv.includes('--watch')) {
  await (await esbuild.context(options)).watch();
} else {
  await esbuild.build(options);
}
