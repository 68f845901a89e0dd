// The schema as the catalog of a database has it, in the form of `schema.sql`.
import type pg from "pg";

const columns = `select c.relname as table_name, a.attname as name,
    format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
    pg_get_expr(d.adbin, d.adrelid) as default_value,
    case when co.collname = 'C' then ' collate "C"' else '' end as collation
  from pg_attribute a join pg_class c on c.oid = a.attrelid
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    left join pg_collation co on co.oid = a.attcollation
  where n.nspname = 'throughline' and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
  order by c.relname, a.attnum`;
const indexes = `select indexdef from pg_indexes where schemaname = 'throughline'
  order by tablename, indexname`;
const options = `select c.relname as table_name, array_to_string(c.reloptions, ', ') as options
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'throughline' and c.relkind = 'r' and c.reloptions is not null`;

/** Every table with its columns, then every index. */
export async function schemaOf(pool: pg.Pool): Promise<string> {
  const tables = new Map<string, string[]>();
  for (const row of (await pool.query(columns)).rows) {
    const required = row.required ? " not null" : "";
    const value = row.default_value === null ? "" : ` default ${row.default_value}`;
    const lines = tables.get(row.table_name) ?? [];
    lines.push(`  ${row.name} ${row.type}${row.collation}${value}${required}`);
    tables.set(row.table_name, lines);
  }
  const withOptions = new Map<string, string>();
  for (const row of (await pool.query(options)).rows) {
    withOptions.set(row.table_name, ` with (${row.options})`);
  }
  const tableTexts = [...tables].map(
    ([name, lines]) =>
      `create table throughline.${name} (\n${lines.join(",\n")}\n)${withOptions.get(name) ?? ""};`,
  );
  const indexTexts = (await pool.query(indexes)).rows.map((row) => `${row.indexdef};`);
  return `${[...tableTexts, indexTexts.join("\n")].join("\n\n")}\n`;
}
