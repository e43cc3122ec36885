// SPDX-License-Identifier: BSD-3-Clause
// What apache-arrow and Polars make of files of Arrow. Arguments: the folder
// whose node_modules hold them, then files; or --sum, a file and a column, whose
// sum Polars makes of what it maps. Prints JSON.
import fs from 'fs';
import {createRequire} from 'module';

const [modules, ...files] = process.argv.slice(2);
const require = createRequire(modules + '/package.json');
const pl = require('nodejs-polars');

function plain(value) {
	if (value === null || value === undefined)
		return null;
	// JSON has no numbers as long as these.
	if (typeof value === 'bigint')
		return Number.isSafeInteger(Number(value)) ? Number(value) :
			value.toString();
	if (value instanceof Date)
		return value.getTime();
	if (typeof value === 'object' && value[Symbol.iterator])
		return Array.from(value, plain);
	return value;
}

function byArrow(file) {
	const arrow = require('apache-arrow');
	const table = arrow.tableFromIPC(fs.readFileSync(file));
	return table.schema.fields.map(field => {
		const column = table.getChild(field.name);
		return [field.name, String(field.type), column.nullCount,
			plain(column)];
	});
}

// The name of some types does not reach JavaScript, though their values do.
function typeOf(column) {
	try {
		return String(column.dtype);
	} catch (error) {
		return String(error);
	}
}

function byPolars(file) {
	const table = pl.scanIPC(file).collectSync();
	return table.columns.map(name => {
		const column = table.getColumn(name);
		const type = typeOf(column);
		try {
			// It would make floating point of these.
			const exact = /^DataType\(U?Int64\)/.test(type) ?
				column.cast(pl.Utf8) : column;
			return [name, type, column.nullCount(),
				plain(exact.toArray())];
		} catch (error) {
			// Values that do not reach JavaScript.
			return [name, String(error), column.nullCount(), null];
		}
	});
}

if (files[0] === '--sum') {
	const sum = pl.scanIPC(files[1]).select(pl.col(files[2]).sum())
		.collectSync();
	console.log(JSON.stringify(plain(sum.getColumn(files[2]).toArray())));
} else {
	for (const file of files)
		console.log(JSON.stringify({arrow: byArrow(file),
					    polars: byPolars(file)}));
}
