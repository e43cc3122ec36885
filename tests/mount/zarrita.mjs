// SPDX-License-Identifier: BSD-3-Clause
// Reads Zarr arrays of version 3 with zarrita and prints a line of JSON for
// each: stores are the arguments, folders or http addresses.
//
//   node --input-type=module - STORE... < zarrita.mjs
//
// in a folder whose node_modules hold zarrita.
import * as zarr from "zarrita";
import FileSystemStore from "@zarrita/storage/fs";

for (const place of process.argv.slice(2)) {
	const store = place.startsWith("http") ? new zarr.FetchStore(place)
		: new FileSystemStore(place);
	const node = await zarr.open.v3(zarr.root(store));
	const array = node.kind === "group"
		? await zarr.open.v3(node.resolve("data"), { kind: "array" })
		: node;
	// It gets items, not arrays, of what has no dimensions.
	const all = array.shape.length ? await zarr.get(array)
		: await array.getChunk([]);
	const raw = all.data;
	console.log(JSON.stringify({
		shape: array.shape,
		chunks: array.chunks,
		dtype: array.dtype,
		stride: all.stride,
		data: Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
			.toString("base64"),
	}));
}
