// @ts-check
import { globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Of options and elements, what users read. */
const TEXT_ATTRIBUTES = '/^(aria-label|title|label|placeholder|alt)$/';
const WORDS =
  ':matches(Literal[value=/[a-z]/i], TemplateLiteral:has(TemplateElement[value.raw=/[a-z]/i]))';

/** The same in the host, but for names of icons and the product. */
const TEXT_OPTIONS = '/^(title|label|description|detail|tooltip|prompt|placeHolder|placeholder)$/';
const MESSAGES = '/^(show(Error|Warning|Information)Message|setStatusBarMessage)$/';
const HAS_WORDS = '/^(?!(\\$\\([\\w~-]+\\) ?)?(anllm(: )?)?$).*[a-z]/i';
const HOST_WORDS =
  `:matches(Literal[value=${HAS_WORDS}], BinaryExpression[operator="+"], ` +
  `TemplateLiteral:has(> TemplateElement[value.raw=${HAS_WORDS}]))`;
const translate = 'Users read this: write l10n.t(…), see docs/translating.md';

/** What `npm run l10n` reads is the literal itself, or the message of an object. */
const ONLY_LITERALS =
  'CallExpression[callee.object.name="l10n"][callee.property.name="t"] > ' +
  ':not(Literal, ObjectExpression).arguments:first-child';

/**
 * @param {readonly string[]} selectors of texts that no translation reaches
 * @returns {import('eslint').Linter.RuleEntry<{ selector: string, message: string }[]>}
 */
const untranslated = (selectors) => [
  'error',
  ...selectors.map((selector) => ({ selector, message: translate })),
  { selector: ONLY_LITERALS, message: 'l10n.t takes one literal: nothing else is exported' },
];

export default tseslint.config(
  globalIgnores(['examples/', 'dist/', 'build/', 'prebuilds/', '.cache/', '.vscode-test/']),
  tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: 'error',
      'no-console': 'error',
      'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx', 'hack'] }],
      'prefer-const': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          // The runner itself waits for these.
          allowForKnownSafeCalls: [
            { from: 'package', package: 'node:test', name: ['test', 'it', 'describe', 'suite'] },
          ],
        },
      ],
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      // Messages quote shapes and ids.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowArray: true, allowNumber: true, allowBoolean: true },
      ],
      // An async method may implement an interface without awaiting anything itself.
      '@typescript-eslint/require-await': 'off',
      // A closed union has no default, or one that is assertNever(); a default may also refuse all other members.
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: true },
      ],
    },
  },
  {
    // Programs that print: scripts and tests.
    files: ['scripts/**', 'test/**'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['extension/host/**'],
    rules: {
      'no-restricted-syntax': untranslated([
        `CallExpression[callee.property.name=${MESSAGES}] > ${HOST_WORDS}`,
        `Property[key.name=${TEXT_OPTIONS}] > ${HOST_WORDS}`,
        `Property[key.name=${TEXT_OPTIONS}] > ConditionalExpression > ${HOST_WORDS}`,
        `AssignmentExpression[left.property.name=${TEXT_OPTIONS}] > ${HOST_WORDS}`,
      ]),
    },
  },
  {
    files: ['webview/**'],
    rules: {
      'no-restricted-syntax': untranslated([
        'JSXText[value=/[a-z]/i]',
        `JSXElement > JSXExpressionContainer > ${WORDS}`,
        `JSXElement > JSXExpressionContainer > ConditionalExpression > Literal[value=/[a-z] [a-z]/i]`,
        `JSXAttribute[name.name=${TEXT_ATTRIBUTES}] > ${WORDS}`,
        `JSXAttribute[name.name=${TEXT_ATTRIBUTES}] > JSXExpressionContainer > ${WORDS}`,
        `JSXAttribute[name.name=${TEXT_ATTRIBUTES}] ConditionalExpression > ${WORDS}`,
        `Property[key.name=${TEXT_ATTRIBUTES}] > ${WORDS}`,
      ]),
    },
  },
  {
    // Checked by tsc through JSDoc; JSON.parse and untyped packages give `any` here.
    files: ['**/*.mjs'],
    rules: {
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
);
