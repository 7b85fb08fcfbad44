// SPDX-License-Identifier: Apache-2.0
// The pixels of a dot, relative to its centre.
type Offset = [number, number];

const sprites = new Map<number, Offset[]>();

/** Returns the offsets of a disc's pixels. The diameter must be odd. */
export function spriteOf(diameter: number): Offset[] {
  let sprite = sprites.get(diameter);
  if (sprite) return sprite;
  sprite = [];
  const reach = diameter >> 1;
  const radiusSq = (diameter / 2) ** 2;
  for (let dy = -reach; dy <= reach; ++dy)
    for (let dx = -reach; dx <= reach; ++dx)
      if (dx * dx + dy * dy <= radiusSq) sprite.push([dx, dy]);
  sprites.set(diameter, sprite);
  return sprite;
}

/** Returns an odd diameter. Fewer objects get larger dots. `pixelRatio` is the screen's. */
export function diameterFor(objectCount: number, pixelRatio: number): number {
  const steps: [number, number][] = [
    [50000, 1],
    [10000, 2],
    [2000, 3],
    [300, 5],
  ];
  const css = steps.find(([countMin]) => objectCount > countMin)?.[1] ?? 7;
  return 2 * Math.floor((css * pixelRatio) / 2) + 1;
}
