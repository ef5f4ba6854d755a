// The cameras' film: a textured landscape that drifts, with the grain of a sensor. The browsers'
// own test video is so easy to encode that no encoder ever reaches its bit rate.

import { closeSync, openSync, writeSync } from "node:fs";

const SECONDS = 6;

/**
 * Writes a film of `width` x `height` that ends as it begins. `grain` is how many steps of
 * brightness the noise is strong.
 */
export function film(path, { width, height, fps, seed, grain }) {
  const random = randomOf(seed);
  const scene = landscape(2 * width, 2 * height, random);
  const noise = Int8Array.from({ length: 1 << 20 }, () => Math.round((random() - 0.5) * 2 * grain));
  const colour = [tint(width, height, random), tint(width, height, random)];
  const frames = SECONDS * fps;
  const file = openSync(path, "w");
  try {
    writeSync(file, `YUV4MPEG2 W${width} H${height} F${fps}:1 Ip A1:1 C420jpeg\n`);
    const luma = Buffer.alloc(width * height);
    for (let index = 0; index < frames; index++) {
      const angle = (2 * Math.PI * index) / frames;
      // The camera drifts on an ellipse, so that the film has no seam: about two points a frame, a
      // calm hand's pan.
      const left = Math.round(width / 2 + Math.cos(angle) * width * 0.04);
      const top = Math.round(height / 2 + Math.sin(angle) * height * 0.04);
      expose(luma, scene, 2 * width, left, top, width, height, noise, Math.floor(random() * noise.length));
      writeSync(file, "FRAME\n");
      writeSync(file, luma);
      for (const plane of colour) writeSync(file, plane);
    }
  } finally {
    closeSync(file);
  }
}

function expose(luma, scene, stride, left, top, width, height, noise, start) {
  const mask = noise.length - 1;
  for (let y = 0, at = 0; y < height; y++) {
    const row = (top + y) * stride + left;
    for (let x = 0; x < width; x++, at++) luma[at] = scene[row + x] + noise[(start + at) & mask];
  }
}

/** Noise in octaves, as in hills and leaves: much at large scale, less at small. */
function landscape(width, height, random) {
  const picture = new Float32Array(width * height);
  for (let cell = 128, weight = 44; cell >= 2; cell /= 2, weight *= 0.62) {
    const columns = Math.ceil(width / cell) + 2;
    const grid = Float32Array.from({ length: columns * (Math.ceil(height / cell) + 2) }, () => random() - 0.5);
    for (let y = 0, at = 0; y < height; y++) {
      const row = Math.floor(y / cell);
      const v = (y % cell) / cell;
      for (let x = 0; x < width; x++, at++) {
        const corner = row * columns + Math.floor(x / cell);
        const u = (x % cell) / cell;
        const upper = grid[corner] * (1 - u) + grid[corner + 1] * u;
        const lower = grid[corner + columns] * (1 - u) + grid[corner + columns + 1] * u;
        picture[at] += weight * 2 * (upper * (1 - v) + lower * v);
      }
    }
  }
  return Uint8Array.from(picture, (value) => Math.max(40, Math.min(215, Math.round(125 + value))));
}

function tint(width, height, random) {
  const [across, down] = [random() * 40 - 20, random() * 40 - 20];
  const plane = Buffer.alloc((width / 2) * (height / 2));
  for (let y = 0, at = 0; y < height / 2; y++) {
    for (let x = 0; x < width / 2; x++, at++) plane[at] = 128 + (across * 2 * x) / width + (down * 2 * y) / height;
  }
  return plane;
}

/** Mulberry32. */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let z = Math.imul(state ^ (state >>> 15), 1 | state);
    z = (z + Math.imul(z ^ (z >>> 7), 61 | z)) ^ z;
    return ((z ^ (z >>> 14)) >>> 0) / 4294967296;
  };
}
