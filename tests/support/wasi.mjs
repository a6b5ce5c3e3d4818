// wasi.mjs - runs a program of WebAssembly:  node wasi.mjs PROGRAM.wasm [ARG ...]
// SPDX-License-Identifier: MIT-0

import { WASI } from 'node:wasi';
import { readFile } from 'node:fs/promises';

const args = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args });
const module = await WebAssembly.compile(await readFile(args[0]));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exitCode = wasi.start(instance);
