// classic-level as a command, Node's LevelDB: node classic_level.js write DIR < LINES, node classic_level.js dump DIR. Lines as in goleveldb.go.
'use strict'
const { ClassicLevel } = require('classic-level')
const readline = require('readline')

const fromHex = (text) => Buffer.from(text === '-' ? '' : text, 'hex')
const toHex = (bytes) => (bytes.length === 0 ? '-' : bytes.toString('hex'))

async function main () {
  const [verb, directory] = process.argv.slice(2)
  const db = new ClassicLevel(directory, {
    keyEncoding: 'buffer', valueEncoding: 'buffer', createIfMissing: verb === 'write', writeBufferSize: 65536
  })
  await db.open()
  if (verb === 'write') {
    let batch = []
    for await (const line of readline.createInterface({ input: process.stdin })) {
      const [kind, key, value] = line.split(' ')
      batch.push(kind === 'put' ? { type: 'put', key: fromHex(key), value: fromHex(value) } : { type: 'del', key: fromHex(key) })
      if (batch.length < 10) continue
      await db.batch(batch)
      batch = []
    }
    await db.batch(batch)
  } else {
    for await (const [key, value] of db.iterator()) process.stdout.write(toHex(key) + ' ' + toHex(value) + '\n')
  }
  await db.close()
}

main().catch((error) => {
  console.error(error)
  process.exit(3)
})
