# Writes a source with the text of assets/inspect.html, in which @FILE@ is the text of another asset:
#   cmake -DASSETS=FOLDER -DOUTPUT=SOURCE -P embed.cmake
file(READ "${ASSETS}/inspect.html" page)
foreach(part inspect.css inspect.js)
  file(READ "${ASSETS}/${part}" text)
  string(REPLACE "@${part}@" "${text}" page "${page}")
endforeach()
file(WRITE "${OUTPUT}" "#include \"inspect_asset.h\"\n\nconst char mergedb::tool::kInspectAsset[] = R\"asset(${page})asset\";\n")
