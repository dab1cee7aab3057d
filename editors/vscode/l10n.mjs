// The texts for translators: `l10n/bundle.l10n.json` from the source. `--check` fails if it, or `package.nls.json`, is not current.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { getL10nJson } from '@vscode/l10n-dev';

const BUNDLE = 'l10n/bundle.l10n.json';

const files = readdirSync('src', { recursive: true }).filter((file) => file.endsWith('.ts'));
const texts = await getL10nJson(
  files.map((file) => ({ extension: '.ts', contents: readFileSync(`src/${file}`, 'utf8') })),
);
const sorted = Object.fromEntries(Object.entries(texts).sort(([one], [other]) => (one < other ? -1 : 1)));
const bundle = `${JSON.stringify(sorted, null, 2)}\n`;
if (!process.argv.includes('--check')) {
  writeFileSync(BUNDLE, bundle);
} else if (readFileSync(BUNDLE, 'utf8') !== bundle) {
  throw new Error(`${BUNDLE} is not current: run npm run l10n`);
}

const manifest = readFileSync('package.json', 'utf8');
const used = [...manifest.matchAll(/"%([^%"]+)%"/g)].map(([, key]) => key);
const given = Object.keys(JSON.parse(readFileSync('package.nls.json', 'utf8')));
const wrong = [...used.filter((key) => !given.includes(key)), ...given.filter((key) => !used.includes(key))];
if (wrong.length > 0) {
  throw new Error(`package.json and package.nls.json differ: ${wrong.join(', ')}`);
}
