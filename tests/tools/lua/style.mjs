// Runs StyLua on the Neovim plug-in. The exit code is 1 if a file is not formatted; `--write` formats the files.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CollapseSimpleStatement, Config, IndentType, OutputVerification, QuoteStyle, formatCode }
  from "@johnnymorganz/stylua";

const PLUGIN = fileURLToPath(new URL("../../../editors/neovim/", import.meta.url));
const write = process.argv.includes("--write");

function config() {
  const config = Config.new();
  config.column_width = 110;
  config.indent_type = IndentType.Spaces;
  config.indent_width = 2;
  config.quote_style = QuoteStyle.AutoPreferSingle;
  config.collapse_simple_statement = CollapseSimpleStatement.Always;
  return config;
}

let different = 0;
for (const folder of ["plugin", "lua"]) {
  for (const name of readdirSync(join(PLUGIN, folder), { recursive: true })) {
    if (!name.endsWith(".lua")) continue;
    const file = join(PLUGIN, folder, name);
    const before = readFileSync(file, "utf8");
    const after = formatCode(before, config(), undefined, OutputVerification.Full);
    if (after === before) continue;
    different += 1;
    console.log(`${file} ${write ? "was rewritten" : "needs StyLua: make format-neovim"}`);
    if (write) writeFileSync(file, after);
  }
}
process.exit(different && !write ? 1 : 0);
