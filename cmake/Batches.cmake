# Compiles files in batches (unity builds), since most of the time of a file goes into the headers
# that it shares with its neighbours. A batch has files of one folder, so a new file moves the others
# of its folder only. In a folder, no two files may define the same name in anonymous namespaces.
# The preset `package` builds without batches and without precompiled headers, which makes missing
# includes errors.

# compile_in_batches(TARGET SIZE FILES…): batches of about SIZE files.
function(compile_in_batches target size)
  if(NOT H2SERVER_BATCHES)
    return()
  endif()
  set(folders "")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND files_${folder} "${file}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(SORT files_${folder})
    list(LENGTH files_${folder} count)
    # Batches of equal length, none much longer than SIZE.
    math(EXPR batches "(${count} + ${size} / 2) / ${size}")
    if(batches EQUAL 0)
      set(batches 1)
    endif()
    set(at 0)
    foreach(file IN LISTS files_${folder})
      math(EXPR batch "${at} * ${batches} / ${count}")
      set_source_files_properties("${file}" PROPERTIES UNITY_GROUP "${folder}_${batch}")
      math(EXPR at "${at} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
