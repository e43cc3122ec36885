// SPDX-License-Identifier: BSD-3-Clause
// What ITK makes of images. Arguments: the folder whose node_modules hold it,
// then files. Prints a line of JSON for each, behind the word SEEN, as ITK
// prints what it likes.
import crypto from 'crypto';
import path from 'path';
import {pathToFileURL} from 'url';

const [modules, ...files] = process.argv.slice(2);
const {readImageNode} = await import(pathToFileURL(path.join(modules,
	'node_modules/@itk-wasm/image-io/dist/index-node.js')));

for (const file of files) {
	let seen;
	try {
		const {imageType, size, spacing, origin, direction, data} =
			await readImageNode(file);
		const bytes = new Uint8Array(data.buffer, data.byteOffset,
			data.byteLength);
		seen = {
			type: imageType.componentType,
			components: imageType.components,
			size: Array.from(size, Number),
			spacing: Array.from(spacing),
			origin: Array.from(origin),
			direction: Array.from(direction),
			sha256: crypto.createHash('sha256').update(bytes)
				.digest('hex'),
		};
	} catch (error) {
		seen = {error: String(error?.message ?? error)};
	}
	console.log('SEEN ' + JSON.stringify(seen));
}
