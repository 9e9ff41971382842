// Runs a query of docs/bulk.md in a folder: node query.mjs FOLDER < SQL
import { readFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

process.chdir(process.argv[2]);
const connection = await (await DuckDBInstance.create()).connect();
const answer = await connection.runAndReadAll(readFileSync(0, "utf8"));
console.log(answer.columnNames().join(","));
for (const row of answer.getRows()) console.log(row.map((value) => value ?? "").join(","));
