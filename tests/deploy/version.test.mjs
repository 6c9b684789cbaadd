// CMakeLists.txt says the version. Files that people or other programs read have
// it written in them, too, and these are all of them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const read = (path) => readFileSync(join(process.env.PACELINE_ROOT, path), 'utf8');

const VERSION = /^project\(paceline VERSION ([\d.]+) /m.exec(read('CMakeLists.txt'))[1];

// What stands where the version is named, and how often.
const NAMED = {
  'helm/paceline/Chart.yaml': [/^(?:version|appVersion): "?([\d.]+)"?$/gm, 2],
  'deploy/compose.yaml': [/paceline\/[\w-]+:([\d.]+)/g, 2],
  'Dockerfile.server': [/(?:^ARG VERSION=|paceline\/[\w-]+:)([\d.]+\d)/gm, 2],
  'Dockerfile.worker': [/(?:^ARG VERSION=|paceline\/[\w-]+:)([\d.]+\d)/gm, 4],
  'docs/kubernetes.md': [/(?:VERSION=|paceline\/[\w$-]+:)([\d.]+\d)/g, 6],
  'docs/install.md': [/(?:paceline[-_]|image-|:|\bv)(\d+\.\d+\.\d+)/g, 23],
  'helm/paceline/values-kind.yaml': [/paceline\/[\w-]+:([\d.]+\d)/g, 2],
  'README.md': [/\*\*Version\*\* ([\d.]+\d)/g, 1],
};

for (const [file, [pattern, times]] of Object.entries(NAMED)) {
  test(`${file} has the version of CMakeLists.txt`, () => {
    const found = [...read(file).matchAll(pattern)].map((match) => match[1]);
    assert.deepEqual(found, Array(times).fill(VERSION));
  });
}
