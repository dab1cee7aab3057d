import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

/** Calls whose texts need no translation: `l10n.t` itself, and the log. */
const EXEMPT = 'CallExpression[callee.property.name=/^(t|trace|debug|info|warn|error)$/]';
/** Properties whose texts VS Code shows. */
const SHOWN = '/^(title|label|detail|description|placeHolder|prompt|tooltip|message)$/';
/** Matches a word, except the product's name, an icon, a part of an identifier, and a part of a command's URI. */
const WORDS = String.raw`/(^|[^\w$({.:~\/<-])(?!jumpseat\b)[A-Za-z]{2,}/`;
const message =
  'Users see this text: pass it through l10n.t. If nobody sees it, disable the rule and say who reads it.';

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/'] },
  eslint.configs.recommended,
  {
    files: ['src/**/*.ts', 'test/**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // `describe` and `it` of node:test return promises that the runner itself awaits.
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', name: ['describe', 'it', 'test'], package: 'node:test' },
          ],
        },
      ],
      'no-console': 'error',
    },
  },
  {
    // A literal of a single word may be an identifier, so it is an error only where VS Code certainly shows it.
    files: ['src/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: `Literal[value=/[A-Za-z]{2,} [A-Za-z(]/]:not(${EXEMPT} Literal)`, message },
        { selector: `TemplateElement[value.raw=${WORDS}]:not(${EXEMPT} TemplateElement)`, message },
        { selector: `Property[key.name=${SHOWN}] > Literal[value=/[A-Za-z]/]`, message },
        {
          selector: `AssignmentExpression[left.property.name=${SHOWN}] > Literal[value=/[A-Za-z]/]`,
          message,
        },
        { selector: String.raw`CallExpression[callee.property.name=/^show\w+Message$/] > Literal`, message },
      ],
    },
  },
  {
    files: ['**/*.mjs'],
    languageOptions: {
      globals: {
        Buffer: 'readonly',
        URL: 'readonly',
        console: 'readonly',
        process: 'readonly',
        setImmediate: 'readonly',
      },
    },
  },
);
