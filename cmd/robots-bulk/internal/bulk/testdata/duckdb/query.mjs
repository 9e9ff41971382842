// Runs a query of docs/bulk.md in a folder, after the definitions of its tables: node query.mjs FOLDER DEFINITIONS < SQL
import { readFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const definitions = readFileSync(process.argv[3], "utf8");
process.chdir(process.argv[2]);
const connection = await (await DuckDBInstance.create()).connect();
await connection.run(definitions);
const answer = await connection.runAndReadAll(readFileSync(0, "utf8"));
console.log(answer.columnNames().join(","));
for (const row of answer.getRows()) console.log(row.map((value) => value ?? "").join(","));
