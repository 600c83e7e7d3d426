// Checks docs/grafana/mergedb.json against Grafana's own types, and its queries as PromQL:
//
//     node tests/docs/grafana_check.mjs [FILE]
//
// The types are those of Grafana's package for programs that make dashboards. The first run downloads it from the npm
// registry to build/grafana, so no other test runs this file. promtool (Debian: prometheus) parses the queries.
// tests/docs/dashboard_test.py checks that the metrics of the queries exist.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const HOME = join(ROOT, "build", "grafana");
const PACKAGES = ["@grafana/grafana-foundation-sdk@0.0.21", "ts-json-schema-generator@2.4.0", "ajv@8.20.0"];
const TYPES = join(HOME, "node_modules", "@grafana", "grafana-foundation-sdk", "dist");
// A query is a type of the data source; the dashboard's type leaves it open.
const OPEN_TYPES = ["Dataquery", "cog.Dataquery"];

function install() {
  const done = join(HOME, "packages.txt");
  if (existsSync(done) && readFileSync(done, "utf8") === PACKAGES.join("\n")) return;
  mkdirSync(HOME, { recursive: true });
  execFileSync("npm", ["install", "--prefix", HOME, "--ignore-scripts", "--no-audit", "--no-fund", ...PACKAGES], { stdio: "inherit" });
  writeFileSync(done, PACKAGES.join("\n"));
}

// Returns a function that validates a value of a type.
function validatorOf(folder, type) {
  const generator = join(HOME, "node_modules", ".bin", "ts-json-schema-generator");
  const file = join(TYPES, folder, "types.gen.d.ts");
  const text = execFileSync(generator, ["--path", file, "--type", type, "--no-type-check"], { maxBuffer: 1 << 26 });
  const schema = JSON.parse(text);
  const open = OPEN_TYPES.filter((name) => schema.definitions[name] !== undefined);
  for (const name of open) delete schema.definitions[name].additionalProperties;
  if (type === "Dashboard" && open.length === 0) throw new Error("the package names the type of a query otherwise");
  const Ajv = createRequire(join(HOME, "package.json"))("ajv");
  return new Ajv({ allErrors: true, strict: false }).compile(schema);
}

// promtool reads rules, so each query becomes one.
function checkQueries(queries) {
  const rules = queries.map((query, i) => {
    const text = query.replaceAll("$__rate_interval", "5m").replaceAll("$database", "database");
    return `  - record: query_${i}\n    expr: ${JSON.stringify(text)}\n`;
  });
  const path = join(HOME, "rules.yml");
  writeFileSync(path, "groups:\n- name: dashboard\n  rules:\n" + rules.join(""));
  return spawnSync("promtool", ["check", "rules", path], { stdio: ["ignore", "ignore", "inherit"] }).status === 0;
}

const path = resolve(process.argv[2] ?? join(ROOT, "docs", "grafana", "mergedb.json"));
const dashboard = JSON.parse(readFileSync(path, "utf8"));
install();
let problems = 0;
function check(validate, value, what) {
  if (validate(value)) return;
  for (const error of validate.errors) {
    ++problems;
    console.error(`${what}: at ${error.instancePath || "its top"}: ${error.message} ${JSON.stringify(error.params)}`);
  }
}

check(validatorOf("dashboard", "Dashboard"), dashboard, "the dashboard");
const ofQuery = validatorOf("prometheus", "Dataquery");
const ofPanel = {
  stat: { options: validatorOf("stat", "Options") },
  timeseries: { options: validatorOf("timeseries", "Options"), custom: validatorOf("timeseries", "FieldConfig") },
};
const panels = dashboard.panels.filter((panel) => panel.type !== "row");
for (const panel of panels) {
  const what = `panel "${panel.title}"`;
  const of = ofPanel[panel.type];
  if (of === undefined) throw new Error(`${what} has type ${panel.type}, which this check does not know`);
  check(of.options, panel.options, `${what}, options`);
  if (of.custom) check(of.custom, panel.fieldConfig.defaults.custom, `${what}, fieldConfig`);
  for (const query of panel.targets) check(ofQuery, query, `${what}, query ${query.refId}`);
}
const queries = panels.flatMap((panel) => panel.targets.map((query) => query.expr));
if (!checkQueries(queries)) ++problems;
console.log(`${panels.length} panels and ${queries.length} queries: ${problems === 0 ? "right" : problems + " problems"}`);
process.exit(problems === 0 ? 0 : 1);
