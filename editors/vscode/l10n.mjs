// Writes the translatable texts of the source to `l10n/bundle.l10n.json`. With `--check`, the script does not write
// that file, but fails if it is not current. In both cases, the script also fails if the keys in `package.json` and
// `package.nls.json` differ, or if `package.json` itself contains texts that VS Code shows.
// A rule in `eslint.config.mjs` finds texts in the source that are not passed through `l10n.t`.
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

/** The keys of the manifest whose values VS Code shows. */
const SHOWN =
  /^(title|name|fullName|displayName|contextualTitle|(user|markdown)?description|enumDescriptions|patternErrorMessage|contents)$/i;

/** The texts of the manifest that VS Code shows, except in the schemas of tools, which models read. */
function* shownTexts(value, key = '') {
  if (typeof value === 'string') {
    yield* SHOWN.test(key) ? [value] : [];
  } else {
    for (const [name, inner] of Object.entries(value)) {
      yield* name === 'inputSchema' ? [] : shownTexts(inner, Array.isArray(value) ? key : name);
    }
  }
}

const { contributes } = JSON.parse(manifest);
// Names that users type in the chat have no spaces, and are the same in all languages.
const fixed = [...shownTexts(contributes)].filter((text) => !/^(%.*%|jumpseat|[a-z_]+)$/.test(text));
if (fixed.length > 0) {
  throw new Error(`package.json has texts that belong in package.nls.json: ${fixed.join(', ')}`);
}
