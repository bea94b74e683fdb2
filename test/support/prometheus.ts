import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'vitest'
import { until } from './waiting.js'

/** A real Prometheus, and the tool that comes with it; without one the tests are skipped, and say so. */

const program = process.env.HAPAX_TEST_PROMETHEUS

export function onPrometheus(group: string, declare: () => void): void {
  if (program === undefined) test.skip(`${group} (skipped: no Prometheus, set HAPAX_TEST_PROMETHEUS)`, () => {})
  else describe(group, declare)
}

/** What promtool says, and whether it is content. */
export function promtool(args: readonly string[], input = ''): Promise<{ isContent: boolean; says: string }> {
  return new Promise((resolve) => {
    const child = execFile(join(dirname(program ?? ''), 'promtool'), args, (error, stdout, stderr) =>
      resolve({ isContent: error === null, says: `${stdout}${stderr}` }),
    )
    child.stdin?.end(input)
  })
}

export interface Prometheus {
  /** The series that a query gives now. */
  query(
    query: string,
  ): Promise<readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[]>
  stop(): Promise<void>
}

/** Scrapes this page every second. */
export async function startPrometheus(scraped: string): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'hapax-prometheus-'))
  const { host, pathname } = new URL(scraped)
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s' },
    scrape_configs: [{ job_name: 'hapax', metrics_path: pathname, static_configs: [{ targets: [host] }] }],
  }
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const url = `http://127.0.0.1:${await freePort()}`
  const child = spawn(
    program ?? '',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${new URL(url).host}`,
    ],
    { stdio: 'ignore' },
  )
  const stop = async () => {
    await ended(child)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const isReady = () =>
      fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
    await until(isReady, (ready) => ready, 'Prometheus to be ready')
  } catch (error) {
    await stop()
    throw error
  }
  return {
    stop,
    async query(query) {
      const response = await fetch(`${url}/api/v1/query`, { method: 'POST', body: new URLSearchParams({ query }) })
      const said = (await response.json()) as { status: string; error?: string; data: { result: never } }
      if (said.status !== 'success') throw new Error(`${query}: ${said.error}`)
      return said.data.result
    },
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** It cannot be told to take any: one that is free now will hardly be taken before it starts. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
