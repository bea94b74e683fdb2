import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type LockedPackages, missingPackages } from '../../scripts/complete-lockfile.mjs'
import { isInstalled } from '../../scripts/install.mjs'

const lockfiles = ['package-lock.json', 'scripts/postgres-package/package-lock.json']

const read = (path: string): LockedPackages => JSON.parse(readFileSync(path, 'utf8')).packages

const wanted: LockedPackages = {
  '': { version: '1.0.0' },
  'node_modules/a': { version: '1.0.0' },
  'node_modules/a-for-another-platform': { version: '1.0.0', optional: true },
}

test('nothing is installed again when all that is locked is there', () => {
  expect(isInstalled(wanted, { 'node_modules/a': { version: '1.0.0' } })).toBe(true)
})

test('a package that is missing or of another version is installed', () => {
  expect(isInstalled(wanted, {})).toBe(false)
  expect(isInstalled(wanted, { 'node_modules/a': { version: '1.0.1' } })).toBe(false)
})

test.each(lockfiles)('%s names no download address, so that any registry serves it', (path) => {
  const addresses = Object.values(read(path)).flatMap(({ resolved, link }) => (resolved && !link ? [resolved] : []))
  expect(addresses).toEqual([])
})

test.each(lockfiles)('%s has the packages of every platform, so that npm ci takes it everywhere', (path) => {
  expect(missingPackages(read(path))).toEqual({})
})

test('no dependency compiles or downloads anything when it is installed', () => {
  const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const scripted = Object.entries(read('package-lock.json')).filter(
    ([, { hasInstallScript, os }]) => hasInstallScript && !os,
  )
  const names = scripted.map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
  expect(names.filter((name) => allowScripts[name] !== false)).toEqual([])
})
