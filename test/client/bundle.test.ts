import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build, type Metafile } from 'esbuild'
import { expect, test } from 'vitest'

/** What a page receives. */
async function bundled(entry: string): Promise<{ gzipped: number; text: string; metafile: Metafile }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL(`../../dist/client/${entry}.js`, import.meta.url))],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  const [file] = outputFiles
  const bytes = file?.contents ?? new Uint8Array()
  const gzipped = gzipSync(bytes, { level: 9 }).byteLength
  console.info(`${entry}: ${bytes.byteLength} bytes, ${gzipped} gzipped`)
  return { gzipped, text: file?.text ?? '', metafile }
}

test.each([
  ['index', 5_000],
  ['queue-entry', 6_500],
  ['contract', 1_500],
])('the client is small, and has nothing of Node in it: %s', async (entry, most) => {
  const { gzipped, text, metafile } = await bundled(entry)
  expect(gzipped).toBeLessThan(most)
  expect(text).not.toMatch(/node:|require\(|process\.|\bBuffer\b/)
  const inputs = Object.keys(metafile.inputs)
  expect(inputs.filter((path) => !/dist\/(client|kernel)\//.test(path))).toEqual([])
  expect(inputs.filter((path) => /kernel\/(errors|limits|events)\.js$/.test(path))).toEqual([])
  expect(Object.values(metafile.inputs).flatMap(({ imports }) => imports.filter(({ external }) => external))).toEqual(
    [],
  )
})

test('what is for Node alone would not get into a page', async () => {
  await expect(bundled('node/index')).rejects.toThrow('node:fs/promises')
})
