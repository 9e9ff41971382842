// Compares each NAME.parquet in a folder with NAME.jsonl: nulls, distinct values and rows.
import { readdirSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

process.chdir(process.argv[2]);
const connection = await (await DuckDBInstance.create()).connect();
const rows = async (sql) => (await connection.runAndReadAll(sql)).getRows();
let tables = 0;
for (const name of readdirSync(".").filter((file) => file.endsWith(".parquet"))) {
  tables++;
  const columns = await rows(`select column_name, column_type from (describe from '${name}')`);
  const types = columns.map(([column, type]) => `"${column}": '${type === "BLOB" ? "VARCHAR" : type}'`);
  const lines = `read_json('${name.replace(".parquet", ".jsonl")}', format = 'newline_delimited', columns = {${types}})`;
  const parquet = `(select ${columns.map(([column, type]) => (type === "BLOB" ? `to_base64("${column}") as "${column}"` : `"${column}"`))} from '${name}')`;
  for (const [column] of columns) {
    const [one, two] = await Promise.all([parquet, lines].map((table) => rows(`select count(*), count("${column}"), count(distinct "${column}") from ${table}`)));
    if (`${one}` !== `${two}`) console.log(`${name} ${column}: rows, values and distinct values ${one}, in JSON Lines ${two}`);
  }
  const [[differ]] = await rows(`select count(*) from ((from ${parquet} except all from ${lines}) union all (from ${lines} except all from ${parquet}))`);
  if (differ != 0) console.log(`${name}: ${differ} rows differ`);
}
console.log(`${tables} tables`);
