// Runs a query of docs/bulk.md in a folder, after the definitions of the tables that it has: node query.mjs FOLDER DEFINITIONS < SQL
import { existsSync, readFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const definitions = readFileSync(process.argv[3], "utf8");
process.chdir(process.argv[2]);
const connection = await (await DuckDBInstance.create()).connect();
for (const view of definitions.split(";\n")) {
  const table = view.match(/'(.*)\/\*/);
  if (table && existsSync(table[1])) await connection.run(view);
}
const answer = await connection.runAndReadAll(readFileSync(0, "utf8"));
console.log(answer.columnNames().join(","));
for (const row of answer.getRows()) console.log(row.map((value) => value ?? "").join(","));
