// What the images' builds need is in them: nothing here builds an image.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const read = (path) => readFileSync(join(process.env.PACELINE_ROOT, path), 'utf8');

// The files that a script of ours sources, and those that these do.
function sourcesOf(script) {
  const named = [...read(script).matchAll(/^\s*# shellcheck source=(\S+)/gm)].map((match) => match[1]);
  return named.flatMap((file) => [file, ...sourcesOf(file)]);
}

// Paths that .dockerignore lets through.
const SENT = read('.dockerignore').split('\n').filter((line) => line.startsWith('!')).map((line) => line.slice(1));
const isSent = (path) => SENT.some((sent) => path === sent || path.startsWith(`${sent}/`));

for (const file of ['Dockerfile.server', 'Dockerfile.worker']) {
  test(`${file} copies what its steps run`, () => {
    let copied = [];
    let scripts = 0;
    for (const line of read(file).replaceAll('\\\n', ' ').split('\n')) {
      if (line.startsWith('FROM')) copied = line.includes(' AS build-') ? ['.'] : [];
      const copy = /^COPY (?!--from)(.*) \S+$/.exec(line);
      if (copy) copied.push(...copy[1].split(' '));
      const run = /^RUN .*?(deploy\/\S+\.sh)/.exec(line);
      if (!run) continue;
      scripts += 1;
      for (const path of [run[1], ...sourcesOf(run[1])]) {
        assert.ok(copied.includes('.') || copied.includes(path), `${line}: ${path} is not copied before`);
        assert.ok(isSent(path), `${line}: .dockerignore keeps ${path} away`);
      }
    }
    assert.ok(scripts >= 3, 'the steps are found');
  });
}

test('the page on drivers has the GPUs and the CUDA of the image', () => {
  const page = read('docs/kubernetes.md');
  const [, architectures] = /"(75-real;[^"]*)"/.exec(read('cmake/PacelineCuda.cmake'));
  const built = architectures.split(';').map((one) => one.replace('-real', '').replace(/(\d)$/, '.$1'));
  const told = [...page.matchAll(/^\| [^|]*\| ([0-9.]+), \w+ \|[^|]*\| has code for it/gm)].map((match) => match[1]);
  assert.deepEqual(told, built);
  const [, cuda] = /^ARG CUDA=nvidia\/cuda:(\d+\.\d+)/m.exec(read('Dockerfile.worker'));
  assert.ok(page.includes(`The image \`worker\` is built with CUDA ${cuda}, which needs driver`), cuda);
});
