// SPDX-License-Identifier: Apache-2.0
// Declares what exists at run time but has no type: style sheets, and a name that flatc writes.
declare module "*.css";

/** flatc 2.0 writes a default of infinity as this name; esbuild replaces it by Infinity. */
declare const inf: number;
